"""Fuzzing: of the native backend's bytes with sanitizers, and of the whole library against stock.

``tools/fuzz`` builds the native backend with the sanitizers and runs ``target``:

``target``
    the function that libFuzzer calls for each input.
``checks``
    the promises for any bytes, which each call checks.
``mutation``
    changes to an input that keep its inner lengths right.
``seeds``
    writes ``corpus``, the inputs that fuzzing starts from.

The other fuzzers run on any build, as ``python -m tests.fuzz.operations`` and so on; ``--help``
lists the options. Each prints how many cases it ran, and for each finding how to run that case
again:

``operations``
    operations and a write (``sequences``, ``steps``, ``values``), which the suite runs as well.
``changes``
    entities that change while they are written, against the stock client.
``responses``
    whole responses, against the stock client.
``calls``
    hostile calls (``hostile``) into the native modules, in child processes (``calls_child``).
``running``, ``canned``, ``material``
    the loop of cases, the client that sends nothing, the entities to start from.
"""
