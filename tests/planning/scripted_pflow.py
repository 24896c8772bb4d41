"""The command line with the model of a recording: `scripted_pflow.py RECORDING.json WORDS…`."""

import sys
from pathlib import Path

from pflow.adapters.scripted_llm import ScriptedLLM
from pflow.cli.main import run_command

if __name__ == "__main__":
    sys.exit(run_command(sys.argv[2:], {"llm": ScriptedLLM.from_file(Path(sys.argv[1]))}))
