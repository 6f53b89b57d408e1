# docker build -t parley . && docker run --env-file .env -v parley:/data parley; or compose.yaml
FROM python:3.13-slim

RUN apt-get update \
    && apt-get install -y --no-install-recommends bubblewrap \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --system --uid 10001 --create-home --home-dir /data parley

WORKDIR /app
COPY requirements.lock ./
RUN pip install --no-cache-dir --no-deps --require-hashes -r requirements.lock
COPY adapters adapters
COPY bot bot
COPY parley_chat parley_chat
COPY playground playground
COPY tools tools
# The user may write nothing here, so each start would compile all of it again.
RUN python -m compileall -q adapters bot parley_chat playground tools

USER parley
WORKDIR /data
VOLUME /data
ENV PYTHONPATH=/app PYTHONUNBUFFERED=1 DATABASE_URL=sqlite:////data/parley.db HTTP_HOST=0.0.0.0 HTTP_PORT=8080 \
    WEB_HOST=0.0.0.0 WEB_PORT=8081
# Health and metrics; what platforms post. Neither is reached from outside unless it is published (-p).
EXPOSE 8080 8081
HEALTHCHECK --interval=30s --timeout=5s --start-period=20s \
    CMD ["python", "-c", "import urllib.request as ask; ask.urlopen('http://127.0.0.1:8080/health', timeout=4)"]
ENTRYPOINT ["python", "-P", "-m", "parley_chat"]
CMD ["run"]
