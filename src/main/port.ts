import { createServer } from 'node:net'
import { VitrinaError } from '../model/errors.js'

const TRIED = 50

export async function isPortFree(host: string, port: number): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const probe = createServer()
    probe.once('error', (error: { code?: string }) =>
      error.code === 'EADDRINUSE' ? resolve(false) : reject(listenFailed(host, port, error)),
    )
    probe.listen({ host, port, exclusive: true }, () => probe.close(() => resolve(true)))
  })
}

/** `wanted`, or the first free port after it. */
export async function nextFreePort(host: string, wanted: number): Promise<number> {
  const last = Math.min(wanted + TRIED, 65_535)
  for (let port = wanted; port <= last; port++) if (await isPortFree(host, port)) return port
  throw portTaken(host, wanted)
}

export function listenFailed(
  host: string,
  port: number,
  error: { code?: string; message?: string },
): VitrinaError {
  if (error.code === 'EADDRINUSE') return portTaken(host, port)
  return new VitrinaError(
    'SETTING_INVALID',
    `Cannot listen on ${host}:${port}: ${error.message}.`,
    'Set VITRINA_HOST to an address of this machine and VITRINA_PORT to a port you may use.',
    { cause: error },
  )
}

export function portTaken(host: string, port: number): VitrinaError {
  return new VitrinaError(
    'PORT_TAKEN',
    `Another program is listening on ${host}:${port}.`,
    'Stop it, or set VITRINA_PORT to another port; 0 selects a free one.',
  )
}
