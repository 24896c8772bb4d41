"""How clients are asked what runs ask: by a form that their person fills in, or by telling the agent what is open."""
