"""From a stage of a recipe to a training method at work: one module for each kind of stage."""
