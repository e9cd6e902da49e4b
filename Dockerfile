# syntax=docker/dockerfile:1

# What is not bundled: the binary of better-sqlite3, and zod for collectors that import a part of it. Of these only what
# is needed to run on this platform, and not to compile against.
FROM node:24.21.0-bookworm-slim AS dependencies
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci --omit=dev --omit=optional --workspaces=false \
  && rm -rf node_modules/better-sqlite3/deps node_modules/better-sqlite3/src node_modules/node-addon-api node_modules/@types node_modules/undici-types \
  && find node_modules/better-sqlite3/prebuilds -type f ! -name "linux-$(node -p process.arch).node" -delete \
  && find node_modules -type f \( -name '*.ts' -o -name '*.mts' -o -name '*.cts' -o -name '*.map' -o -name '*.md' \) -delete

# The bundle, as npm pack makes it.
FROM node:24.21.0-bookworm-slim AS bundle
WORKDIR /build
COPY package.json package-lock.json .npmrc ./
RUN npm ci --workspaces=false
COPY . .
RUN node src/build/main.ts && node src/build/manifest.ts publish && rm -r dist/types dist/package.clone.json

FROM node:24.21.0-bookworm-slim AS program
ENV NODE_ENV=production TIDEGAUGE_CONFIG=/config/local.yaml
WORKDIR /app
COPY --from=dependencies /app/node_modules node_modules
COPY --from=bundle /build/package.json /build/LICENSE ./
COPY --from=bundle /build/dist dist
COPY --from=bundle /build/config config
# Mount your own configuration over /config and your own collectors at /collectors; the image alone runs the embedded service.
# The folder of the data must be there and owned before it is declared a volume, or it is root's.
RUN cp -r config /config && rm -r /config/starter && mkdir /data && chown node:node /data && ln -s /app/dist/bin.cjs /usr/local/bin/tidegauge

# The compile cache, written by what it is for. It holds only for the user and the flags that it was written with.
FROM program AS compiled
COPY src/build/compile-cache.ts /build/
RUN mkdir /compiled && chown node:node /compiled
USER node
ENV NODE_COMPILE_CACHE=/compiled
RUN node /build/compile-cache.ts dist && chmod -R a+rX /compiled

FROM program
# No user of the image may write it: what is in it is executed.
COPY --from=compiled /compiled /app/compiled
ENV NODE_COMPILE_CACHE=/app/compiled
VOLUME /data
USER node
EXPOSE 9464
# Whether it lives, not whether it is ready: a service that is down is no reason to restart the daemon. The shell asks the
# usual port at next to no cost; only where status.listen names another one does the command look it up.
HEALTHCHECK --interval=30s --timeout=15s --start-period=60s --start-interval=2s CMD ["bash", "-c", "\
  { exec 3<>/dev/tcp/127.0.0.1/9464 && printf 'GET /livez HTTP/1.0\\r\\nHost: localhost\\r\\n\\r\\n' >&3 \
  && while read -r -t 5 line <&3; do [[ $line == live* ]] && exit; done; } 2>/dev/null; \
  exec node /app/dist/bin.cjs healthcheck --live"]
ENTRYPOINT ["node", "/app/dist/bin.cjs"]
CMD ["run"]
