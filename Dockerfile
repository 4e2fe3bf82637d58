# Longspan in a container. `scripts/image` builds the same image without a daemon and without a registry.
#
#   docker build -t longspan .
#   mkdir -p out
#   docker run --rm -v "$PWD/out:/out" --user "$(id -u):$(id -g)" longspan
#
# The default command replays the capture that comes with Longspan, and runs a gateway on virtual devices. For your
# own captures:
#
#   docker run --rm -v "$PWD:/data" --user "$(id -u):$(id -g)" \
#       longspan longspan replay --config /data/gateway.toml --in dc0=/data/a.pcap --out-dir /data/out
#
# A gateway between interfaces of the host needs them, and the rights to use them:
#
#   docker run --rm --network host --user root --cap-add NET_ADMIN --cap-add NET_RAW -v "$PWD:/data" \
#       longspan longspan run --config /data/gateway.toml

FROM rust:1.95-slim-bookworm AS build
RUN apt-get update \
    && apt-get install -y --no-install-recommends dpkg-dev libclang-dev libdpdk-dev pkg-config \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /src
COPY . .
RUN CHECK=no scripts/package /package

FROM debian:12-slim
COPY --from=build /package/*.deb /tmp/longspan.deb
# Beside the program the package brings DPDK with its drivers, the examples, and the user that a gateway goes on as. The
# other two set up interfaces (config/containerlab).
RUN apt-get update \
    && apt-get install -y --no-install-recommends ethtool iproute2 /tmp/longspan.deb \
    && rm -rf /var/lib/apt/lists/* /tmp/longspan.deb \
    && mkdir -m 1777 /out
WORKDIR /usr/share/longspan
ENV LONGSPAN=/usr/bin/longspan
USER nobody
CMD ["scripts/run", "/out/replay"]
