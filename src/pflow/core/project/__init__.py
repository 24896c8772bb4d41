"""What a project brings along in its `.pflow` folder, and what of it a person has agreed to."""
