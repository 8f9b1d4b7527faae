import { Outlet } from '@tanstack/react-router'

export function PipelineLayout() {
  return <Outlet />
}
