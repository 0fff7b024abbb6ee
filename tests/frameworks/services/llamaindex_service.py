"""A query engine of LlamaIndex behind FastAPI that returns its response and its source nodes."""

from __future__ import annotations

import sys
from typing import Any

import uvicorn
from corpus import DOCUMENTS, answer, ranked
from fastapi import FastAPI
from llama_index.core.llms import CompletionResponse, CustomLLM, LLMMetadata
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import NodeWithScore, TextNode
from pydantic import BaseModel


class Model(CustomLLM):
    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata(model_name="scripted")

    def complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponse:
        return CompletionResponse(text=answer(prompt))

    def stream_complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> Any:
        yield self.complete(prompt)


class Retriever(BaseRetriever):
    def _retrieve(self, query_bundle: Any) -> list[NodeWithScore]:
        return [
            NodeWithScore(node=TextNode(text=DOCUMENTS[name], metadata={"file_name": name}), score=0.9 - place / 10)
            for place, name in enumerate(ranked(query_bundle.query_str))
        ]


class Query(BaseModel):
    query: str
    top_k: int = 3


app = FastAPI()
engine = RetrieverQueryEngine.from_args(Retriever(), llm=Model())


@app.post("/api/query")
def query(request: Query) -> Any:
    response = engine.query(request.query)
    return {"response": str(response), "source_nodes": [one.model_dump(mode="json") for one in response.source_nodes]}


uvicorn.run(app, port=int(sys.argv[1]), log_level="error")
