"""A pipeline of Haystack behind FastAPI: retriever, prompt, generator, answers with their documents."""

from __future__ import annotations

import sys
from typing import Any

import uvicorn
from corpus import DOCUMENTS, answer
from fastapi import FastAPI
from haystack import Document, Pipeline, component
from haystack.components.builders import AnswerBuilder, PromptBuilder
from haystack.components.retrievers.in_memory import InMemoryBM25Retriever
from haystack.document_stores.in_memory import InMemoryDocumentStore
from pydantic import BaseModel


@component
class Generator:
    @component.output_types(replies=list[str])
    def run(self, prompt: str) -> dict[str, list[str]]:
        return {"replies": [answer(prompt)]}


class Body(BaseModel):
    text: str


store = InMemoryDocumentStore()
store.write_documents([Document(content=text, meta={"file_path": name}) for name, text in DOCUMENTS.items()])
template = "{% for one in documents %}{{ one.content }}\n{% endfor %}Question: {{ query }}"
pipeline = Pipeline()
pipeline.add_component("retriever", InMemoryBM25Retriever(store, top_k=3))
pipeline.add_component("prompt_builder", PromptBuilder(template))
pipeline.add_component("llm", Generator())
pipeline.add_component("answer_builder", AnswerBuilder())
pipeline.connect("retriever.documents", "prompt_builder.documents")
pipeline.connect("retriever.documents", "answer_builder.documents")
pipeline.connect("prompt_builder", "llm")
pipeline.connect("llm.replies", "answer_builder.replies")
app = FastAPI()


@app.post("/rag/run")
def run(body: Body) -> Any:
    asked = {"query": body.text}
    result = pipeline.run({"retriever": asked, "prompt_builder": asked, "answer_builder": asked})
    return {"answers": [one.to_dict() for one in result["answer_builder"]["answers"]]}


uvicorn.run(app, port=int(sys.argv[1]), log_level="error")
