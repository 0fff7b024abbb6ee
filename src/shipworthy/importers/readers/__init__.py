"""Readers: one a format, each giving neutral spans. No rule about questions or answers is in here."""
