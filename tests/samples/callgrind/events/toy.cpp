#include <benchmark/benchmark.h>
#include <vector>
#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <unistd.h>
#include <sys/syscall.h>
#include <fcntl.h>
#define NI __attribute__((noinline))
static std::vector<uint32_t> data(1<<16), big(1<<22);
static std::mutex m; static int fd;
static int vals[64];
#if defined(INLINE)
NI
#else
inline __attribute__((always_inline))
#endif
uint32_t step(uint32_t s, uint32_t v){ return (s ^ v)*2654435761u + (v>>3); }
NI uint32_t middle(uint32_t s_in){ uint32_t s = s_in;
  for(int k=0;k<64;++k){
    uint32_t v = data[(s_in+k)&0xfff];
#if defined(BRANCH)
    if (s & 0x10000) { asm volatile("" : "+r"(s)); s += 3; } else { asm volatile("nop" : "+r"(s)); s -= 5; }
#endif
#if defined(CACHE)
    v = big[(k*65537u + s_in*1048583u) & ((1<<22)-1)];
#endif
#if defined(MORE)
    s = step(s, v+1);
#endif
    s = step(s, v);
  }
#if defined(ALLOC)
  for(int k=0;k<4;++k){ void*p=operator new(40); benchmark::DoNotOptimize(p); operator delete(p);} 
#endif
#if defined(LOCK)
  for(int k=0;k<4;++k){ std::lock_guard<std::mutex> g(m); s+=1; benchmark::DoNotOptimize(s);} 
#endif
#if defined(SYS)
  syscall(SYS_getppid);
#endif
#if defined(ATOMIC)
  static int a; for(int k=0;k<8;++k) __atomic_fetch_add(&a,1,__ATOMIC_SEQ_CST);
#endif
  return s;
}
void BM_Toy(benchmark::State& st){
  uint32_t x=1; for(auto&d:data) d = x = x*1664525u+1013904223u;
  uint32_t i=0; for(auto _:st) { x += middle(i++ & 63); benchmark::DoNotOptimize(x);} }
BENCHMARK(BM_Toy);
BENCHMARK_MAIN();
