"""Fuzzing of the native backend; ``tools/fuzz`` builds it with the sanitizers and runs this.

``target``
    what libFuzzer calls, over and over.
``checks``
    what is promised for any bytes, which is what each call checks.
``mutation``
    changes to an input that keep the lengths inside of it right.
``seeds``
    writes ``corpus``, the inputs that fuzzing starts from.
"""
