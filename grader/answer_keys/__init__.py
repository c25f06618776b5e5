"""Read and write answer keys, which hold the answers of a course's solutions without their code."""
