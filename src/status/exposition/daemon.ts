import type { Scrape } from '../scrape.ts'
import { type Family, known } from './text.ts'

/** Metrics of the process: readiness, configuration, clock, disk. */
export function daemonFamilies({ version, ready, configuration, isClockBelieved, service, disk }: Scrape): Family[] {
  return [
    {
      name: 'tidegauge_build_info',
      type: 'gauge',
      help: 'Version of the daemon; always 1.',
      samples: [[{ version }, 1]],
    },
    readyFamily(ready.ok),
    {
      name: 'tidegauge_config_last_reload_successful',
      type: 'gauge',
      help: '0 while the configuration file was changed and is refused, else 1.',
      samples: [[{}, configuration.refused ? 0 : 1]],
    },
    {
      name: 'tidegauge_config_last_reload_success_timestamp_seconds',
      type: 'gauge',
      help: 'When the configuration in force was taken, at the start or by a reload.',
      samples: [[{}, configuration.inForceSinceMs / 1000]],
    },
    {
      name: 'tidegauge_clock_believed',
      type: 'gauge',
      help: "1 while this machine's clock is believed; 0 while it is doubted and nothing is collected.",
      samples: known(isClockBelieved === undefined ? undefined : Number(isClockBelieved)),
    },
    {
      name: 'tidegauge_service_clock_skew_seconds',
      type: 'gauge',
      help: "Lead of the service's clock over this machine's; absent until an answer showed it.",
      samples: known(service.skewMs === undefined ? undefined : service.skewMs / 1000),
    },
    {
      name: 'tidegauge_disk_full',
      type: 'gauge',
      help: '1 while there is no room to store anything new, and nothing is collected, else 0.',
      samples: [[{}, disk.isFull ? 1 : 0]],
    },
    {
      name: 'tidegauge_disk_free_bytes',
      type: 'gauge',
      help: 'Free room of the disk below the outbox; absent when the system does not say.',
      samples: known(disk.room?.freeBytes),
    },
    {
      name: 'tidegauge_disk_size_bytes',
      type: 'gauge',
      help: 'Size of the disk below the outbox; absent when the system does not say.',
      samples: known(disk.room?.sizeBytes),
    },
  ]
}

/** Readiness, which is exposed without an outbox, too. */
export function readyFamily(isReady: boolean): Family {
  return {
    name: 'tidegauge_ready',
    type: 'gauge',
    help: '1 while everything that is due was delivered in time, else 0; /readyz has the reasons.',
    samples: [[{}, isReady ? 1 : 0]],
  }
}
