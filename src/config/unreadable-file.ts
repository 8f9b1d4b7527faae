import { VitrinaError } from '../model/errors.js'

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'does not exist',
  ENOTDIR: 'does not exist',
  EACCES: 'may not be read by this account',
  EPERM: 'may not be read by this account',
  EISDIR: 'is a folder',
  ELOOP: 'is a link to itself',
}

export function unreadableFile(path: string, cause: NodeJS.ErrnoException, hint: string): VitrinaError {
  const reason = REASONS[cause.code ?? ''] ?? `cannot be read: ${cause.message}`
  return new VitrinaError('FILE_INVALID', `${path} ${reason}.`, hint, { cause })
}
