"""Write answer keys and the repositories that students receive."""

#: For each host of `kata release --host`, the template of the workflow that grades a push; it goes into
#: `.github/workflows` under its own name.
WORKFLOWS = {"actions": "grade.yml", "classroom": "classroom.yml"}
