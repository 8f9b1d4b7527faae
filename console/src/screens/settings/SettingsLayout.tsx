import { Outlet } from '@tanstack/react-router'

export function SettingsLayout() {
  return <Outlet />
}
