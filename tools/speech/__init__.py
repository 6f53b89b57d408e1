"""Write down what is said in recordings, on this machine."""
