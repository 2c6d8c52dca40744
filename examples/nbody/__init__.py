"""Learning a step of three bodies that attract each other, by layers of multivectors and by a plain network."""
