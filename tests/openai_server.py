"""A small server that speaks the OpenAI protocol over a language model of transformers: completions and chats, greedy.

It writes with transformers' own `generate` and reads log-probabilities from one pass over each text.
"""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import torch


class OpenAIServer(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, network: Any, tokenizer: Any) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.network, self.tokenizer = network, tokenizer
        self.lock = threading.Lock()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"

    def __enter__(self) -> OpenAIServer:
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()
        self.server_close()

    def chat(self, body: dict[str, Any]) -> dict[str, Any]:
        text = self.tokenizer.apply_chat_template(body["messages"], tokenize=False, add_generation_prompt=True)
        tokens = self.tokenizer(text, return_tensors="pt", add_special_tokens=False)["input_ids"]
        words, why = self._write(tokens, body)
        message = {"role": "assistant", "content": words}
        return {"object": "chat.completion", "choices": [{"index": 0, "message": message, "finish_reason": why}]}

    def complete(self, body: dict[str, Any]) -> dict[str, Any]:
        prompts = [body["prompt"]] if isinstance(body["prompt"], str) else body["prompt"]
        choices = []
        for place, prompt in enumerate(prompts):
            tokens = self.tokenizer(prompt, return_tensors="pt")["input_ids"]
            if body.get("echo"):
                choices.append({"index": place, "finish_reason": "length", **self._read(prompt, tokens, body)})
            else:
                words, why = self._write(tokens, body)
                choices.append({"index": place, "text": words, "finish_reason": why, "logprobs": None})
        return {"object": "text_completion", "choices": choices}

    def _write(self, tokens: torch.Tensor, body: dict[str, Any]) -> tuple[str, str]:
        if body.get("temperature", 1) != 0:
            raise ValueError("This server is greedy; ask with temperature 0.")
        most = int(body.get("max_tokens", 16))
        with torch.inference_mode():
            written = self.network.generate(
                tokens,
                attention_mask=torch.ones_like(tokens),
                max_new_tokens=most,
                do_sample=False,
                temperature=None,
                top_p=None,
                top_k=None,
                pad_token_id=self.tokenizer.eos_token_id,
                stop_strings=body.get("stop"),
                tokenizer=self.tokenizer,
            )[0, tokens.shape[1] :]
        words = self.tokenizer.decode(written, skip_special_tokens=True)
        stops = [words.index(stop) for stop in body.get("stop") or [] if stop in words]
        return words[: min(stops)] if stops else words, "length" if len(written) == most and not stops else "stop"

    def _read(self, prompt: str, tokens: torch.Tensor, body: dict[str, Any]) -> dict[str, Any]:
        """Return the prompt with the likeliest token after it, and the log-probabilities of all."""
        if body.get("max_tokens") != 1 or not body.get("logprobs"):
            raise ValueError("This server echoes a prompt with log-probabilities and one token more.")
        with torch.inference_mode():
            spread = self.network(tokens).logits[0].double().log_softmax(-1)
        whole = [*tokens[0].tolist(), int(spread[-1].argmax())]
        read = spread.gather(1, torch.tensor(whole[1:])[:, None])[:, 0].tolist()
        words = [self.tokenizer.decode([one]) for one in whole]
        return {"text": prompt + words[-1], "logprobs": {"tokens": words, "token_logprobs": [None, *read]}}


class _Handler(BaseHTTPRequestHandler):
    server: OpenAIServer

    def do_POST(self) -> None:
        ways = {"/v1/chat/completions": self.server.chat, "/v1/completions": self.server.complete}
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        try:
            if self.path not in ways:
                self._send(404, {"error": {"message": f"There is no {self.path}."}})
                return
            with self.server.lock:  # one text at a time
                said = ways[self.path](body)
            self._send(200, {"id": "1", "created": 0, "model": body["model"], **said})
        except (ValueError, KeyError) as error:
            self._send(400, {"error": {"message": str(error)}})

    def _send(self, code: int, said: dict[str, Any]) -> None:
        content = json.dumps(said).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Say nothing."""
