"""What users apply to a function: gradients, pullbacks, tangent maps, Jacobians, Hessians, and these inside programs."""
