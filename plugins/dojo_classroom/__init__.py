"""Grade a class: collect submissions, grade each file once, store the results, write statistics."""
