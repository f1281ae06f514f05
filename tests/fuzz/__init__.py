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

The others run on any build, with the suite; ``nox -s fuzz`` runs more cases:

``test_operations``
    operations (``sequences``, ``steps``, ``values``), and changes during a write.
``test_responses``
    whole responses, against the stock client.
``calls``
    hostile calls (``hostile``) into the native modules, in a process of their own.
``patched``, ``canned``, ``material``
    patched clients, the client that sends nothing, the entities to start from.
"""
