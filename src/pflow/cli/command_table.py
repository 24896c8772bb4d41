"""The commands there are: where each one is, and what it does in a sentence. Importing this loads none of them."""

from __future__ import annotations

COMMANDS = {
    "run": ("pflow.cli.commands.run:run", "Run a workflow."),
    "validate": ("pflow.cli.commands.run:validate", "Check a workflow without running it."),
    "plan": ("pflow.cli.planning.plan:plan", "Plan a task in words, show the plan, ask, run it."),
    "fmt": ("pflow.cli.commands.fmt:fmt", "Write documents in their canonical form."),
    "describe": ("pflow.cli.commands.workflow:describe", "Show what a workflow takes, gives and does."),
    "workflow": ("pflow.cli.commands.workflow:workflow", "Save, list, describe, edit and compare workflows."),
    "project": ("pflow.cli.commands.project:project", "See what a project brings along, and agree to it."),
    "registry": ("pflow.cli.commands.registry:registry", "See which node types there are, and try them."),
    "mcp": ("pflow.cli.commands.mcp:mcp", "Use MCP servers: their tools become node types."),
    "call": ("pflow.cli.commands.call:call", "Call one tool of an MCP server."),
    "serve": ("pflow.cli.commands.serve:serve", "Serve pflow to agents and other programs."),
    "skill": ("pflow.cli.commands.skill:skill", "Teach an agent to use pflow."),
    "schedule": ("pflow.cli.commands.schedule:schedule", "Have workflows run at times."),
    "runs": ("pflow.cli.commands.runs:runs", "List, show, compare, follow, resume, fork, settle and cancel runs."),
    "ui": ("pflow.cli.page.ui:ui", "See runs and workflows in a browser."),
    "daemon": ("pflow.cli.commands.daemon:daemon", "Drive runs that wait, as soon as they are due."),
    "answer": ("pflow.cli.asking.answer:answer", "Answer a question of a run, which then goes on."),
    "send": ("pflow.cli.asking.answer:send", "Send a message to a run that waits for one."),
    "trace": ("pflow.cli.looking.command:trace", "Show what a run did, step by step."),
    "worker": ("pflow.cli.place.worker:worker", "Drive the runs of a place, beside other workers."),
    "workers": ("pflow.cli.place.workers:workers", "Show the workers of a place."),
    "journal": ("pflow.cli.place.journal:journal", "Make and fill the journal of a place."),
    "state": ("pflow.cli.commands.state:state", "See and change what workflows keep between runs."),
    "llm": ("pflow.cli.model.llm:llm", "Configure language models, and try them."),
    "settings": ("pflow.cli.commands.settings:settings", "Store credentials and options."),
    "guide": ("pflow.cli.commands.guide:guide", "How to write workflows, on one page."),
    "schema": ("pflow.cli.commands.guide:schema", "The JSON Schema of documents, for editors and models."),
    "completion": ("pflow.cli.commands.completion:completion", "Print a completion script for a shell."),
}
