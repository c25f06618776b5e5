"""Several mistakes are told of as one, each in its own words."""

from grader.texts.sentences import at_once, first_sentence, in_brief

TEXTS = ("No maximum. It overflows.", "No scale. Heads get sharp.", "No mask? Look.")


def test_several_mistakes_are_told_of_one_after_the_other():
    assert at_once(TEXTS[:2]) == (
        "There are two mistakes at once, each described as if it were the only one."
        " One: No maximum. It overflows. The other: No scale. Heads get sharp."
    )
    assert at_once(TEXTS) == (
        "There are three mistakes at once, each described as if it were the only one."
        " One: No maximum. It overflows. Another: No scale. Heads get sharp. The third: No mask? Look."
    )


def test_each_of_several_mistakes_keeps_its_first_sentence_in_brief():
    assert in_brief(at_once(TEXTS[:2])) == (
        "There are two mistakes at once, each described as if it were the only one."
        " One: No maximum. The other: No scale."
    )
    assert in_brief(at_once(TEXTS)).endswith("One: No maximum. Another: No scale. The third: No mask?")
    assert in_brief(TEXTS[0]) == first_sentence(TEXTS[0]) == "No maximum."
