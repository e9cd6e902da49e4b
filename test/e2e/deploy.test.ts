import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { z } from 'zod'

const root = fileURLToPath(new URL('../..', import.meta.url))
const textOf = (name: string) => readFileSync(join(root, name), 'utf8')
const documents = (name: string): unknown[] => {
  const all = parseAllDocuments(textOf(name), { merge: true })
  expect(all.flatMap(({ errors }) => errors)).toEqual([])
  return all.map(document => document.toJS())
}

const named = z.looseObject({ name: z.string() })
const probe = z.strictObject({
  httpGet: z.strictObject({ path: z.string(), port: z.string() }),
  periodSeconds: z.int(),
  timeoutSeconds: z.int().optional(),
  failureThreshold: z.int().optional(),
})
const deployment = z.looseObject({
  apiVersion: z.literal('apps/v1'),
  kind: z.literal('Deployment'),
  spec: z.looseObject({
    replicas: z.literal(1),
    strategy: z.strictObject({ type: z.literal('Recreate') }),
    selector: z.strictObject({ matchLabels: z.record(z.string(), z.string()) }),
    template: z.looseObject({
      metadata: z.looseObject({ labels: z.record(z.string(), z.string()) }),
      spec: z.looseObject({
        securityContext: z.looseObject({ runAsNonRoot: z.literal(true), runAsUser: z.int() }),
        containers: z.tuple([
          z.looseObject({
            env: z.array(named),
            ports: z.array(z.looseObject({ name: z.string(), containerPort: z.int() })),
            startupProbe: probe,
            livenessProbe: probe,
            readinessProbe: probe,
            securityContext: z.looseObject({ readOnlyRootFilesystem: z.literal(true) }),
            volumeMounts: z.array(z.looseObject({ name: z.string(), mountPath: z.string() })),
          }),
        ]),
        volumes: z.array(named),
      }),
    }),
  }),
})
const compose = z.strictObject({
  services: z.strictObject({
    tidegauge: z.looseObject({
      environment: z.record(z.string(), z.string()),
      read_only: z.literal(true),
      tmpfs: z.array(z.string()),
      volumes: z.array(z.string()),
    }),
  }),
  volumes: z.record(z.string(), z.strictObject({})),
})

/** Paths in the image that the files may mount over. */
const places = ['/config', '/collectors', '/data', '/tmp', '/run/secrets', '/run/secrets/tidegauge']

describe('the files for a container:', () => {
  it('Kubernetes restarts by liveness alone, and mounts what there is', () => {
    const [claim, second, policy] = documents('docs/deploy/kubernetes.yaml')
    const { spec } = deployment.parse(second)
    const pod = spec.template.spec
    const [container] = pod.containers
    const [port] = container.ports
    for (const { httpGet } of [container.startupProbe, container.livenessProbe]) {
      expect(httpGet).toEqual({ path: '/livez', port: port?.name })
    }
    expect(container.readinessProbe.httpGet).toEqual({ path: '/readyz', port: port?.name })
    expect(port?.containerPort).toBe(9464)
    const names = (list: readonly { readonly name: string }[]) => list.map(({ name }) => name).sort()
    expect(names(pod.volumes)).toEqual(names(container.volumeMounts))
    expect(container.volumeMounts.filter(({ mountPath }) => !places.includes(mountPath))).toEqual([])
    expect(pod.securityContext.runAsUser).toBe(1000)
    expect(pod.volumes).toContainEqual({
      name: 'data',
      persistentVolumeClaim: { claimName: z.looseObject({ metadata: named }).parse(claim).metadata.name },
    })
    expect(spec.template.metadata.labels).toEqual(spec.selector.matchLabels)
    expect(policy).toMatchObject({ kind: 'NetworkPolicy', spec: { podSelector: spec.selector } })
  })

  it('Compose mounts what there is, and leaves health to the image', () => {
    const [first] = documents('docs/deploy/compose.yaml')
    const { services, volumes } = compose.parse(first)
    const { environment, volumes: mounts, tmpfs, ...rest } = services.tidegauge
    expect(environment['TIDEGAUGE_CONFIG']).toBe('/config/tidegauge.yaml')
    expect(mounts.map(mount => mount.split(':')[1]).filter(path => !places.includes(path ?? ''))).toEqual([])
    expect(mounts.filter(mount => !mount.startsWith('.')).map(mount => mount.split(':')[0])).toEqual(
      Object.keys(volumes),
    )
    // A single file that is mounted stays the old one when it is replaced by rename: a key could not be rotated.
    expect(mounts).toContain('./secrets:/run/secrets:ro')
    expect(tmpfs).toEqual(['/tmp'])
    expect(rest).not.toHaveProperty('healthcheck')
  })

  it('Compose of a fleet gives each daemon a name, and mounts what there is', () => {
    const [first] = documents('docs/deploy/compose-fleet.yaml')
    const daemon = z.looseObject({ hostname: z.string(), volumes: z.array(z.string()), environment: z.object({}) })
    const fleet = z.looseObject({
      services: z.looseObject({ database: z.looseObject({ secrets: z.array(z.string()) }) }),
      secrets: z.record(z.string(), z.strictObject({ file: z.string() })),
    })
    const { services, secrets } = fleet.parse(first)
    const { database, ...others } = services
    const daemons = Object.entries(others).map(([name, service]) => ({ name, ...daemon.parse(service) }))
    expect(daemons).toHaveLength(3)
    expect(daemons.map(({ hostname }) => hostname)).toEqual(daemons.map(({ name }) => name))
    // The folder, as a single file that is mounted stays the old one when it is replaced by rename.
    for (const { volumes } of daemons) expect(volumes).toContain('./secrets:/run/secrets:ro')
    expect([...database.secrets].sort()).toEqual(Object.keys(secrets).sort())
    expect(textOf('docs/deploy/compose-fleet.yaml')).not.toMatch(/PASSWORD: /)
  })

  it('an image of a folder of one’s own has no secret in it, and is not root', () => {
    const dockerfile = textOf('docs/deploy/own.Dockerfile')
    const copied = [...dockerfile.matchAll(/^COPY (.*) \S+$/gm)].flatMap(([, from = '']) => from.split(' '))
    expect(copied).toEqual(['package.json', 'package-lock.json', '*.tgz', 'tidegauge.yaml', 'collectors'])
    expect(dockerfile).toMatch(/^USER node\nVOLUME \/app\/data$/m)
    expect(dockerfile).toMatch(/^HEALTHCHECK .*"healthcheck", "--live"\]$/m)
  })

  it('the image has what they need', () => {
    const dockerfile = textOf('Dockerfile')
    expect(dockerfile).toMatch(/^USER node$/m)
    expect(dockerfile).toMatch(/^VOLUME \/data$/m)
    expect(dockerfile).toMatch(/^EXPOSE 9464$/m)
    // Docker would restart nothing, but an orchestrator that reads it would.
    expect(dockerfile).toMatch(/^HEALTHCHECK [\s\S]*\/livez[\s\S]*healthcheck --live"\]$/m)
    expect(dockerfile).not.toContain('readyz')
  })
})
