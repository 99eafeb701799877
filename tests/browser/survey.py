"""A table of answers to long questions."""

import csv
import random

QUESTIONS = [
    "How satisfied are you with the opening hours of the library on weekdays?",
    "How satisfied are you with the opening hours of the library at the weekend?",
    "Would you recommend the library to a friend or colleague?",
    "Incomprehensibilities-and-counterrevolutionaries-without-any-space",
    "Âge du répondant <b>&amp; \"autres\"</b> </script>",
    "您对图书馆平日的开放时间满意吗？请选择一个最符合您情况的答案，谢谢您的合作",
    "MMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMWWWWWWWWWWWWWWWWWWWWWWWW",
]


def write_survey(path):
    """Writes answers that depend on each other."""
    draw = random.Random(1)
    with open(path, "w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(QUESTIONS)
        for _ in range(800):
            answers = [draw.choice(["very", "somewhat", "not at all"])]
            for _ in QUESTIONS[1:]:
                answers.append(answers[-1] if draw.random() < 0.7 else draw.choice(["very", "somewhat", "not at all"]))
            rows.writerow(answers)
