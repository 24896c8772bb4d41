"""Looking at runs: pages of their traces, two of them compared, their graphs, and following those that go on."""
