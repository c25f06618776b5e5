"""Everything that runs beside a submission."""
