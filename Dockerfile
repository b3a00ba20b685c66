# One image for all parts; the command selects the part.
ARG BASE=debian:bookworm-slim
FROM ${BASE}

# The tools to build and check projects, and the sandbox. A project that needs more tools can extend this image.
RUN apt-get update \
    && apt-get install -y --no-install-recommends \
        bubblewrap build-essential ca-certificates ccache clang clang-format clang-tidy cmake git libbenchmark-dev \
        libclang-rt-dev libgmock-dev libgoogle-perftools4 libgtest-dev libsnappy-dev ninja-build openssh-client openssl python3 python3-venv \
        util-linux valgrind \
    && rm -rf /var/lib/apt/lists/* /var/cache/apt/*

WORKDIR /opt/benchgate
COPY requirements.lock pyproject.toml README.md LICENSE ./
RUN python3 -m venv /opt/venv \
    && /opt/venv/bin/pip install --no-cache-dir --disable-pip-version-check --require-hashes -r requirements.lock
COPY service service
COPY workers workers
COPY dashboards dashboards
COPY migrations migrations
RUN /opt/venv/bin/pip install --no-cache-dir --no-deps --no-build-isolation -e . \
    && chmod -R a+rX /opt/benchgate \
    && groupadd --system --gid 999 benchgate \
    && useradd --system --uid 999 --gid 999 --create-home --home-dir /var/lib/benchgate benchgate \
    && install -d -o benchgate /var/lib/benchgate/artifacts

# Not root, so that bubblewrap maps the sandbox's user to a user without rights on the host. Kubernetes wants the number.
USER benchgate
ENV PATH=/opt/venv/bin:/usr/local/bin:/usr/bin:/bin
EXPOSE 8080
