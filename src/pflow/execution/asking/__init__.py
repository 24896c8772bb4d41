"""What a document may say about asking and waiting, and the questions of runs as people and programs see them."""
