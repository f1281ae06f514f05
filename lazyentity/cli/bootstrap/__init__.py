"""The folder that :mod:`lazyentity.cli.run` puts first on ``PYTHONPATH``.

Every interpreter imports ``sitecustomize`` before it runs its program, and finds this folder's.
"""
