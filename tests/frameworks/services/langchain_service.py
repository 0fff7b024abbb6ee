"""A retrieval chain of LangChain behind FastAPI, as its tutorial builds one."""

from __future__ import annotations

import sys
from typing import Any

import uvicorn
from corpus import DOCUMENTS, answer, ranked
from fastapi import FastAPI
from langchain_classic.chains import create_retrieval_chain
from langchain_classic.chains.combine_documents import create_stuff_documents_chain
from langchain_core.documents import Document
from langchain_core.language_models.chat_models import SimpleChatModel
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.retrievers import BaseRetriever
from pydantic import BaseModel


class Model(SimpleChatModel):
    @property
    def _llm_type(self) -> str:
        return "scripted"

    def _call(self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any) -> str:
        return answer(str(messages[-1].content))


class Retriever(BaseRetriever):
    def _get_relevant_documents(self, query: str, **kwargs: Any) -> list[Document]:
        return [Document(DOCUMENTS[name], metadata={"source": f"docs/{name}"}) for name in ranked(query)]


class Question(BaseModel):
    question: str


app = FastAPI()
prompt = ChatPromptTemplate.from_messages([("system", "Answer from this context: {context}"), ("human", "{input}")])
chain = create_retrieval_chain(Retriever(), create_stuff_documents_chain(Model(), prompt))


@app.post("/ask")
def ask(question: Question) -> Any:
    return chain.invoke({"input": question.question})


uvicorn.run(app, port=int(sys.argv[1]), log_level="error")
