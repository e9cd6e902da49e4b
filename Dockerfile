# syntax=docker/dockerfile:1

# Production dependencies alone. No install script runs; better-sqlite3 brings its binary, of which only this
# platform's is kept, and of the others what is needed to run and not to compile against.
FROM node:24.21.0-bookworm-slim AS dependencies
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci --omit=dev --omit=optional --workspaces=false \
  && rm -rf node_modules/better-sqlite3/deps node_modules/better-sqlite3/src \
  && find node_modules/better-sqlite3/prebuilds -type f ! -name "linux-$(node -p process.arch).node" -delete \
  && rm -rf node_modules/viem/_cjs node_modules/viem/_types \
  && find node_modules -type f \( -name '*.map' -o -name '*.d.ts' -o -name '*.d.mts' -o -name '*.d.cts' -o -name '*.md' \) -delete

FROM node:24.21.0-bookworm-slim
ENV NODE_ENV=production TIDEGAUGE_CONFIG=/config/local.yaml
WORKDIR /app
COPY --from=dependencies /app/node_modules node_modules
COPY package.json LICENSE ./
COPY src src
COPY collectors collectors
# Mount your own configuration over /config and your own collectors at /collectors; the image alone runs the embedded service.
COPY config /config
# The folder must be there and owned before it is declared a volume, or it is root's.
RUN mkdir /data && chown node:node /data
VOLUME /data
USER node
EXPOSE 9464
# Whether it lives, not whether it is ready: a service that is down is no reason to restart the daemon. The shell asks the
# usual port at next to no cost; only where status.listen names another one does the command look it up.
HEALTHCHECK --interval=30s --timeout=15s --start-period=60s --start-interval=2s CMD ["bash", "-c", "\
  { exec 3<>/dev/tcp/127.0.0.1/9464 && printf 'GET /livez HTTP/1.0\\r\\nHost: localhost\\r\\n\\r\\n' >&3 && timeout 5 grep -q '^live' <&3; } 2>/dev/null \
  || exec node /app/src/main.ts healthcheck --live"]
ENTRYPOINT ["node", "/app/src/main.ts"]
CMD ["run"]
