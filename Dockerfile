# Two stages: wheels are built with the locked dependencies, the image that runs holds only what it runs.
FROM python:3.13-slim AS build
WORKDIR /build
COPY requirements/runtime.txt requirements/build.txt requirements/
RUN python -m venv /signalbox \
 && /signalbox/bin/python -m pip install --no-cache-dir --require-hashes -r requirements/runtime.txt
RUN python -m venv /builder \
 && /builder/bin/python -m pip install --no-cache-dir --require-hashes -r requirements/build.txt
COPY pyproject.toml README.md ./
COPY webhook webhook
COPY policies policies
COPY manifests/base/webhooks.yaml manifests/base/
RUN /builder/bin/python -m pip wheel --no-cache-dir --no-deps --no-build-isolation --wheel-dir dist . \
 && /signalbox/bin/python -m pip install --no-cache-dir --no-deps --no-index dist/*.whl

FROM python:3.13-slim
COPY --from=build /signalbox /signalbox
ENV PATH=/signalbox/bin:$PATH PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
USER 65532:65532
EXPOSE 8443
ENTRYPOINT ["signalbox"]
CMD ["serve", "--cert", "/tls/tls.crt", "--key", "/tls/tls.key", "--port", "8443"]
