"""Raters: do any number of people give the same labels to the same items, beyond chance?"""
