# Longspan's replay in a container:
#
#   docker build -t longspan .
#   mkdir -p out
#   docker run --rm -v "$PWD/out:/out" --user "$(id -u):$(id -g)" longspan
#
# The default command replays the capture that comes with Longspan. For your own:
#
#   docker run --rm -v "$PWD:/data" --user "$(id -u):$(id -g)" \
#       longspan longspan replay --config /data/gateway.toml --in dc0=/data/a.pcap --out-dir /data/out

FROM rust:1.95-slim-bookworm AS build
WORKDIR /src
COPY . .
RUN cargo build --release --locked --package longspan

FROM debian:12-slim
COPY --from=build /src/target/release/longspan /usr/local/bin/longspan
WORKDIR /usr/share/longspan
COPY config config
COPY scripts scripts
COPY tests/data/captures tests/data/captures
ENV LONGSPAN=/usr/local/bin/longspan
RUN mkdir -m 1777 /out
USER nobody
CMD ["scripts/run", "/out/replay"]
