# An image of a folder that `tidegauge init` wrote, without a clone. In that folder:
#   npm install ./tidegauge-VERSION.tgz                 # the tarball lies in the folder, so that the build has it
#   docker build --tag my-values --file node_modules/tidegauge/docs/deploy/own.Dockerfile .
#   docker run --detach --restart unless-stopped --read-only --tmpfs /tmp --cap-drop ALL --security-opt no-new-privileges \
#     --volume my-values:/app/data --volume ./secrets:/app/secrets:ro my-values
# `data: ./data` in tidegauge.yaml is /app/data. To see the page from outside: status: { listen: "0.0.0.0:9464" }, and publish the
# port to your own network only.
FROM node:24-bookworm-slim
ENV NODE_ENV=production
WORKDIR /app
COPY package.json package-lock.json *.tgz ./
RUN npm ci --omit=dev --ignore-scripts && mkdir data && chown node:node data
COPY tidegauge.yaml ./
COPY collectors collectors
USER node
VOLUME /app/data
EXPOSE 9464
HEALTHCHECK --interval=30s --timeout=15s --start-period=60s CMD ["node_modules/.bin/tidegauge", "healthcheck", "--live"]
ENTRYPOINT ["node_modules/.bin/tidegauge"]
CMD ["run"]
