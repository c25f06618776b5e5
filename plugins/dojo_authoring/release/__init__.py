"""Write answer keys and the repositories that students receive."""

#: For each host of `kata release --host`, the template of the workflow that grades a push; it goes into
#: `.github/workflows` under its own name.
WORKFLOWS = {"actions": "grade.yml", "classroom": "classroom.yml"}

#: For each choice of `kata release --grade-on`, what the templates say: the filter of the event `push` in a
#: workflow, and a sentence for students.
GRADE_ON = {
    "push": {"PUSH": "", "GRADED": "Every push is graded."},
    "request": {
        "PUSH": '\n    tags: ["**"]',
        "GRADED": (
            "A push is graded where it brings a tag:\n`git tag try-1 && git push origin try-1`."
            " *Run workflow* on the page *Actions* grades as well."
        ),
    },
}
