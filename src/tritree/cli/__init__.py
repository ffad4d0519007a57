"""The command line ``tritree``: tables in files, models in files, words on the terminal.

``app`` runs the program and turns what goes wrong into a line and an exit code; ``program`` lists the commands, which
are in ``fit``, ``predict``, ``show``, ``export`` and ``holes``. ``tables`` and ``typed`` read tables, ``places`` writes
whatever is written, ``messages`` speaks. To keep ``tritree --help`` quick no module of commands imports NumPy, pandas
or the estimators before a command runs.
"""
