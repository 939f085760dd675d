"""Commands beside fit, validate, test and predict; each module has ``add_arguments(parser)`` and ``run(args)``."""
