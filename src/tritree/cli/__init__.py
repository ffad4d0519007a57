"""The command line ``tritree``.

``main`` runs the program, ``app`` lists the commands, which are in modules of their own. A parameter of a command is
an option, described in the docstring of the command. ``options`` holds what commands share, ``tables`` reads tables,
``training`` the training data in them, ``batches`` and ``training_batches`` do so batch by batch, ``models`` opens
and makes models, ``output`` writes files, ``messages`` prints, and ``errors`` words the errors of the library. To
keep ``tritree --help`` quick, modules of commands import pandas and the estimators, and modules that need them, only
when a command runs. They do not postpone the evaluation of annotations, which Typer reads.
"""
