# Longspan in a container:
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
    && apt-get install -y --no-install-recommends libclang-dev libdpdk-dev pkg-config \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /src
COPY . .
RUN cargo build --release --locked --package longspan

FROM debian:12-slim
# DPDK, and those of its drivers that docs/running.md speaks of. They are plugins: DPDK loads them when it starts.
RUN apt-get update \
    && apt-get install -y --no-install-recommends \
        librte-bus-pci23 librte-bus-vdev23 librte-ethdev23 librte-mempool-ring23 \
        librte-net-af-packet23 librte-net-af-xdp23 librte-net-ice23 librte-net-memif23 librte-net-pcap23 \
    && rm -rf /var/lib/apt/lists/*
# A gateway that is started as root goes on as this user.
RUN useradd --system --no-create-home --shell /usr/sbin/nologin longspan
COPY --from=build /src/target/release/longspan /usr/local/bin/longspan
WORKDIR /usr/share/longspan
COPY config config
COPY scripts scripts
COPY tests/data/captures tests/data/captures
ENV LONGSPAN=/usr/local/bin/longspan
RUN mkdir -m 1777 /out
USER nobody
CMD ["scripts/run", "/out/replay"]
