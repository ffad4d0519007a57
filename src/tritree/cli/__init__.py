"""The command line ``tritree``: tables in files, models in files, words on the terminal.

``app`` runs the program and turns what goes wrong into a line and an exit code; ``program`` lists the commands, which
are in modules of their names (``explain`` is beside ``predict``, and ``lab`` has two). ``tables`` and ``typed`` read
tables, ``response`` tells what is to be learned, ``places`` writes whatever is written, ``parts`` knows where finished
parts of experiments are kept, ``messages`` speaks. To keep ``tritree --help`` quick no module of commands imports
NumPy, pandas or the estimators before a command runs.
"""
