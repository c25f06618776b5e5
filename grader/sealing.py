def is_sealed(data):
    return False
