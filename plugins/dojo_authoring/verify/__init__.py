"""`kata verify`: prove that a course is right, and that its checks are strong."""
