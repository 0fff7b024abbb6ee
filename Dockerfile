# shipworthy as an image: a job in CI, or `shipworthy serve`.
#   docker build -t shipworthy .
#   docker run --rm -v "$PWD:/project" shipworthy check
#   docker run --rm -p 8765:8765 -e SHIPWORTHY_TOKEN -v "$PWD:/project" shipworthy serve --host 0.0.0.0 --port 8765

# Every dependency has a wheel for this base, so that nothing is compiled and no build tools are needed.
FROM python:3.12-alpine AS build
WORKDIR /source
COPY pyproject.toml README.md LICENSE ./
COPY src ./src
RUN python -m venv --without-pip /opt/shipworthy \
 && python -m pip --disable-pip-version-check --no-cache-dir wheel --no-deps --wheel-dir /wheels . \
 && python -m pip --disable-pip-version-check --no-cache-dir --python /opt/shipworthy/bin/python \
      install --only-binary=:all: "$(echo /wheels/shipworthy-*.whl)[postgres,yaml,zst]"

FROM python:3.12-alpine
LABEL org.opencontainers.image.title="shipworthy" \
      org.opencontainers.image.description="Is this RAG, grounded-QA or reasoning pipeline allowed to ship?" \
      org.opencontainers.image.licenses="Apache-2.0"
RUN adduser -D -u 10001 shipworthy && mkdir /project && chown shipworthy /project
COPY --from=build /opt/shipworthy /opt/shipworthy
ENV PATH=/opt/shipworthy/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1
USER 10001
WORKDIR /project
EXPOSE 8765
ENTRYPOINT ["shipworthy"]
CMD ["check"]
