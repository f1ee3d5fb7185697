"""Derivatives inside other tools: one compiled function of flat arrays, and what hands it on."""
