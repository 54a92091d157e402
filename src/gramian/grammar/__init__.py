"""What was learnt: latent-variable grammars and their files."""
