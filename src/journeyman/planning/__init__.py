"""What a recipe would do, before it does it: steps, episodes, tokens, memory, hours, money. No weights are loaded."""
